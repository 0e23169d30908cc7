# What the Python programs share. Importing it connects `redis` to the server that the arguments name:
#   python3 <program>.py [host [port [seconds]]]     seconds: how long the lease lasts
# show() prints a command and its reply; work() is the work that the lock protects.
import re
import sys

try:
    from redis import Redis
except ImportError:
    sys.exit(
        f"{sys.executable} has no module redis (redis-py). Debian, Ubuntu: sudo apt-get install"
        " python3-redis, and start the program by /usr/bin/python3. Elsewhere: pip install redis"
    )


def show(command, reply):
    print(f"{command} -> {'nil' if reply is None else reply}", flush=True)


def work():
    print("working until Enter", flush=True)
    sys.stdin.readline()


def stop(problem):
    sys.exit(f"{problem}\nusage: python3 {sys.argv[0]} [host [port [seconds]]]")


def whole_number(name, text):
    if not re.fullmatch("[0-9]{1,5}", text):
        stop(f"{name} must be a whole number up to 99999, not '{text}'")
    return int(text)


def print_error(_kind, error, _trace):
    print(error, file=sys.stderr)


sys.excepthook = print_error
args = sys.argv[1:] + ["127.0.0.1", "6379", "2"][len(sys.argv) - 1 :]
host, port, seconds = args[0], whole_number("port", args[1]), whole_number("seconds", args[2])
redis = Redis(host, port, decode_responses=True, socket_connect_timeout=5)
try:
    redis.connection_pool.get_connection("_").connect()
except Exception as error:
    stop(f"no server answers at {host}:{port}: {error}")
