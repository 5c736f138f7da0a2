"""Networks that run: kernels with their plain references. torch starts here."""
