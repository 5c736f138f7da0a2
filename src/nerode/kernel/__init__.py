"""The trusted proof checker: a certificate holds only if it is re-derived here.

The kernel needs Python's standard library and imports nothing else of nerode. It has its own reader of
networks and languages, its own exact numbers, its own intervals and its own step of a network.

    check, check_folder      re-check a certificate
    prove, seal              for finders: walk a cover, and the claims that follow
"""
