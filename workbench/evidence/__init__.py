"""Evidence: encoders, judges, caches and the run that collects what they say."""
