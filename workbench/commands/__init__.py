"""One module a verb of the command line: ``arguments(parser)`` declares its options, ``run(options)`` does it.

Heavy imports stand inside ``run``, so that ``--help`` answers at once.
"""
