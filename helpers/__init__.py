"""What goes into the sandbox: the memory command and scout. Standard library only, Python 3.8 or later."""
