"""What measures speed, load and memory: `make bench-performance`."""
