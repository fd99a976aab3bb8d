"""The engine of one machine: the passes, giant buckets, leaders, planning, memory and spilling."""
