# SETNX takes the lock, DEL releases it. If this program dies
# in between, the lock stays for ever.
from common import redis, show, work

ok = redis.setnx("lock", 1)
show("SETNX lock 1", int(ok))
if ok:
    work()
    show("DEL lock", redis.delete("lock"))
