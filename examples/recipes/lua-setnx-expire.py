# A script runs EXPIRE only if its SETNX gave 1. DEL asks
# nothing: a program that worked for longer than its lease
# deletes the lock of the next one.
from pathlib import Path

from common import redis, seconds, show, work

script = Path(__file__).with_name("lua-setnx-expire.lua").read_text()
ok = redis.eval(script, 1, "lock", 1, seconds)
show(f"EVAL <setnx and expire> 1 lock 1 {seconds}", ok)
if ok:
    work()
    show("DEL lock", redis.delete("lock"))
