"""Start an agent: write its files into HOME, open the way to its model, become the agent.

    <python> -I -S -B <helpers>/launch/__main__.py -- ARGV...

Standard input begins with the order: its size in bytes, a line feed, and so much JSON,
{"home": {"path/in/HOME": "text"}, "port": 8399, "socket": "/run/model/model.sock", "stdin": true}.

With a socket, whatever connects to 127.0.0.1 at that port is connected to that unix socket, from before ARGV
starts until the sandbox ends. Without one only the files are written. ARGV gets the rest of standard input
(with "stdin": false, /dev/null), and output, error and environment untouched. Exit codes are those of env(1):
125 where launch itself failed, 126 and 127 where ARGV cannot be run, else ARGV's own.
"""

import os
import sys
import types

_HELPERS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

if __name__ == "__main__":
    # The folder of the helpers may have any name and no __init__.py; inside they are one package.
    package = types.ModuleType("helpers")
    package.__path__ = [_HELPERS]
    sys.modules["helpers"] = package
    from helpers.launch.program import main

    sys.exit(main(sys.argv[1:]))
