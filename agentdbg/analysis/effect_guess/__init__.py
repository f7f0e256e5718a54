"""
Guess what a tool's call does where nobody has said it: from what it is asked to do, and from its name.

`tool_names` reads names, `shell_commands`, `sql_statements` and `python_source` what is run, and `call_effect` puts it
together. All of it errs to one side: what is not surely a read is unknown or a write.
"""
