"""The sub-commands of ``mqchaos``, one module each: ``configure(parser)`` and ``execute(arguments, terminal)``.

A module is imported when its command is typed, and imports what it needs inside ``execute``.
"""
