<?php
// The value is the time at which the lock ends. A program
// that finds this time in the past deletes the lock and takes
// it: two programs that find it at once both get in.
require __DIR__ . '/common.php'; // connects $redis

function take(): bool
{
    global $redis, $seconds;
    $expiry = time() + $seconds;
    $ok = $redis->setNX('lock.foo', $expiry);
    show("SETNX lock.foo $expiry", (int) $ok);
    return $ok;
}

function hasEnded(): bool
{
    global $redis;
    $found = $redis->get('lock.foo');
    show('GET lock.foo', $found === false ? null : $found);
    return $found !== false && $found < time();
}

$ok = take();
if (!$ok && hasEnded()) {
    show('DEL lock.foo', $redis->del('lock.foo'));
    $ok = take();
}
if ($ok) {
    work();
    show('DEL lock.foo', $redis->del('lock.foo'));
}
