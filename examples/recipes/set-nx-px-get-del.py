# The value is a token of this program, and DEL is sent only
# if GET finds the token. The lease can still end between GET
# and DEL.
from secrets import token_hex

from common import redis, seconds, show, work

token = token_hex(16)
ms = seconds * 1000
ok = redis.set("lock", token, nx=True, px=ms)
show(f"SET lock {token} PX {ms} NX", "OK" if ok else None)
if ok:
    work()
    found = redis.get("lock")
    show("GET lock", found)
    if found == token:
        show("DEL lock", redis.delete("lock"))
