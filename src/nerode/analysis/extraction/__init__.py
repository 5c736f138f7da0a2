"""The automaton that a network has learned: by clusters of its states, by queries, or exactly."""
