"""Spans of words that stand somewhere earlier: `engines/local/spans/span_pipeline.py` is their way on one screen."""
