"""Fitting the coefficients that the package ships; imported by nothing."""
