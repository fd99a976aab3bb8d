"""Apache Spark: carries the stages of `engines/packed/` over a cluster. Nothing else imports pyspark."""
