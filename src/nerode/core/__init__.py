"""What every stage stands on: errors, budgets, references, registries, named random streams."""
