"""Native kernels in C++: sources, build, the loaded library, and calls from torch."""
