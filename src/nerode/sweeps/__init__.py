"""Many runs: where they are kept, what a sweep asks for, and who carries it out."""
