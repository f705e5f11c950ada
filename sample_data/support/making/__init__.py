"""The steps that make the sample data, standard library only."""
