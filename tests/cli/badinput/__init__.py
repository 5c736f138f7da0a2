"""The corpus of bad input: tables of cases in `tables/`, inputs in `inputs.py`, run by `forker.py`."""
