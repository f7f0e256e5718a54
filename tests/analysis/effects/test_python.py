"""What a piece of Python does, told from its text."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentdbg.analysis.effect_guess.python_and_sql import python_effect
from agentdbg.analysis.effect_guess.shell_commands import shell_effect

READS = [
    "import os\nos.system('ls')",
    "!ls -la",
    "1 + 1",
    "print(sum([1, 2, 3]))",
    "import math\nmath.sqrt(2)",
    "open('x').read()",
    "with open('x', 'rb') as f:\n    data = f.read()",
    "import json\nwith open('x', encoding='utf-8') as f:\n    rows = json.load(f)\nprint(len(rows))",
    "import pandas as pd\ndf = pd.read_csv('a.csv')\ndf = df.drop(columns=['x'])\nprint(df.groupby('a').sum())",
    "names = []\nfor n in range(3):\n    names.append(n)\nprint(names)",
    "text = 'a,b'.replace(',', ';')\ntext.split(';')",
    "import os\nprint(os.listdir('.'), os.path.join('a', 'b'))",
    "from pathlib import Path\nPath('x').read_text()",
    "import requests\nrequests.get('https://example.com').json()",
    "def area(r):\n    return 3.14 * r ** 2\narea(2)",
    "import datetime\ndatetime.datetime.now().isoformat()",
    "result = web_search(query='weather')\nfinal_answer(result)",
    "cur.execute('SELECT * FROM orders')",
    "df.head()",
]
WRITES = [
    "import subprocess\nsubprocess.run(['rm', 'x'])",
    "!rm x",
    "%pip install x",
    "%%bash\nrm x",
    "open('x', 'w').write('y')",
    "open('x', mode='a')",
    "with open('x', 'r+') as f:\n    f.seek(0)",
    "from pathlib import Path\nPath('x').write_text('y')",
    "from pathlib import Path\np = Path('x')\np.unlink()",
    "import os\nos.remove('x')",
    "import os as o\no.remove('x')",
    "from os import remove as r\nr('x')",
    "import shutil\nshutil.rmtree('x')",
    "import requests\nrequests.post('https://example.com', json={})",
    "df.to_csv('out.csv')",
    "import json\njson.dump({}, f)",
    "cur.execute('DELETE FROM orders')",
    "send_email(to='a@b.c')",
    "print(1)\nif True:\n    for x in y:\n        open(x, 'w')",
]
UNKNOWN = [
    "import subprocess\nsubprocess.run(['ls'], executable='/bin/rm')",
    "import os\nos.system('ls ' + x)",
    "%run other.ipynb",
    "exec(code)",
    "eval('1')",
    "__import__('os').remove('x')",
    "getattr(os, 'remove')('x')",
    "import os\nlist(map(os.remove, files))",
    "from os import remove\nlist(map(remove, files))",
    "f = open\nf('x', 'w')",
    "().__class__.__bases__",
    "db.users.drop()",
    "p.rename('y')",
    "from pathlib import Path\nPath('a').replace('b')",
    "from pathlib import Path\n(Path('a') / 'b').replace('c')",
    "open('x', mode)",
    "open('x', **options)",
    "import boto3",
    "cleanup()",
    "def broken(:",
    "cur.execute(query)",
    "import pandas as pd\npd.read_pickle('x')",
    "(lambda f: f('x', 'w'))(open)",
    "[open][0]('x', 'w')",
    "import json\njson.codecs.open('file', 'w')",
    "import pandas as pd\npd.io.common.os.remove('x')",
    "from os import *\nunlink('x')",
    "import sys\nsys.modules['os'].remove('x')",
    "from pathlib import Path\nPath('x').open('w')",
    "import os\nos.__dict__['remove']('x')",
]


@pytest.mark.parametrize("code", READS)
def test_what_computes_and_looks_is_a_read(code: str) -> None:
    """Most of what an interpreter is asked for."""
    assert python_effect(code, shell_effect) == "read"


@pytest.mark.parametrize("code", WRITES)
def test_what_changes_something_is_a_write(code: str) -> None:
    """However it was imported."""
    assert python_effect(code, shell_effect) == "write"


@pytest.mark.parametrize("code", UNKNOWN)
def test_what_is_not_surely_a_read_is_never_called_one(code: str) -> None:
    """A name can stand for anything that was made before."""
    assert python_effect(code, shell_effect) in ("unknown", "write")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=80))
def test_any_text_is_judged(code: str) -> None:
    """It may be no Python at all."""
    assert python_effect(code, shell_effect) in ("read", "write", "unknown")
