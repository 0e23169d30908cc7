# The value is a token of this program, and a script deletes
# the lock only if it finds the token: no program deletes the
# lock of another.
from pathlib import Path
from secrets import token_hex

from common import redis, seconds, show, work

token = token_hex(16)
ms = seconds * 1000
ok = redis.set("lock", token, nx=True, px=ms)
show(f"SET lock {token} PX {ms} NX", "OK" if ok else None)
if ok:
    work()
    script = Path(__file__).with_name("set-nx-px-lua-del.lua").read_text()
    show(f"EVAL <compare and delete> 1 lock {token}", redis.eval(script, 1, "lock", token))
