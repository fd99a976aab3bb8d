"""What compiled code stands on: how kernels are compiled and kept, and the functions that many of them share."""
