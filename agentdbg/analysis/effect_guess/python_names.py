"""
Functions and methods of Python that only compute or read, and those that write.
"""

from __future__ import annotations

__all__ = ["COMPUTING", "IN_MEMORY", "MODULES", "PURE_BUILTINS", "READING_METHODS", "WRITING_METHODS"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PURE_BUILTINS = _words("""
    abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float format frozenset
    hash hex id int isinstance issubclass iter len list map max min next object oct ord pow print range repr reversed
    round set slice sorted str sum tuple type zip Exception KeyError RuntimeError TypeError ValueError
""")
READING_METHODS = _words("""
    agg aggregate all any argmax argmin as_posix astype capitalize ceil columns corr count cumsum date decode describe
    diff difference digest dropna encode endswith equals exists explode fillna find findall first flatten floor format
    fromisoformat get glob group groupby groups head hexdigest index info intersection isalpha isdigit isna isnull
    isoformat items iterdir iterrows itertuples join joinpath json keys last loads lower lstrip match mean median melt
    min max mode most_common notna now nunique partition pivot pivot_table quantile read readline readlines resample
    reset_index reshape rglob rjust rolling round rpartition rsplit rstrip sample search seek set_index shape shift size
    sort_index sort_values split splitlines startswith stat std strftime strip strptime sum swapcase tail timestamp
    title to_dict to_list to_numpy tolist total_seconds transpose unique upper value_counts values var where with_suffix
    zfill
""")
IN_MEMORY = _words("""
    add append apply clear close combine copy discard drop drop_duplicates extend filter insert map merge pop popitem
    remove rename replace reverse setdefault sort sub transform translate update
""")
"""What lists, tables and texts have as well as files and databases: a read only where the thing is surely one of the
first."""
WRITING_METHODS = _words("""
    commit delete_many delete_one dump insert_many insert_one make_archive mkdir patch post put rmdir rmtree save
    savefig savetxt savez send send_message sendmail symlink_to to_excel to_feather to_file to_parquet to_pickle to_sql
    touch unlink update_many update_one upload upload_file write write_bytes write_text writelines writerow writerows
""")
COMPUTING = _words("""
    abc array ast base64 binascii bisect calendar cmath collections copy csv dataclasses datetime decimal difflib enum
    fractions functools hashlib heapq hmac html itertools json math numbers numpy operator pandas pprint random re scipy
    secrets statistics string struct sympy textwrap time types typing unicodedata uuid zlib
""")
"""Modules that compute; a function of theirs that writes is named like the methods that do."""
MODULES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "glob": (_words("glob iglob"), frozenset()),
    "httpx": (_words("get head options"), _words("delete patch post put")),
    "io": (_words("BytesIO StringIO"), frozenset()),
    "os": (
        _words("access cpu_count fspath get getcwd getenv getlogin getpid listdir lstat scandir stat walk")
        | _words("abspath basename dirname exists expanduser getmtime getsize isdir isfile join normpath realpath")
        | _words("relpath split splitext"),
        _words("""
            chmod chown kill link makedirs mkdir mkfifo remove removedirs rename renames replace rmdir symlink truncate
            unlink utime write
        """),
    ),
    "pathlib": (_words("Path PurePath PurePosixPath cwd home"), frozenset()),
    "platform": (_words("machine node platform processor python_version release system uname version"), frozenset()),
    "requests": (_words("get head options"), _words("delete patch post put")),
    "shutil": (_words("disk_usage get_terminal_size which"), _words("copy copy2 copyfile copytree move rmtree")),
    "sys": (_words("exc_info getrecursionlimit getsizeof"), frozenset()),
    "urllib": (_words("parse_qs quote unquote urlencode urljoin urlparse urlsplit"), frozenset()),
}
"""Modules of which single functions are known: those that read, those that write."""
