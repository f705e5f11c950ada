"""From files to samples: schema, text handling, loading, data doctor, recording."""
