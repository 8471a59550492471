"""Studies: what makes the pages of docs/, with the library as any user has it.

Each is a command, `python -m studies.NAME`; its page says which.
"""
