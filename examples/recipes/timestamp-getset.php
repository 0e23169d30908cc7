<?php
// The value is the time at which the lock ends. A program
// that finds this time in the past replaces it by GETSET, and
// has the lock if GETSET returns the time that it found. The
// GETSET of a program that was too late moves the end of the
// winner's lock.
require __DIR__ . '/common.php'; // connects $redis

$expiry = time() + $seconds;
$ok = $redis->setNX('lock.foo', $expiry);
show("SETNX lock.foo $expiry", (int) $ok);
if (!$ok) {
    $found = $redis->get('lock.foo');
    show('GET lock.foo', $found === false ? null : $found);
    if ($found !== false && $found < time()) {
        $expiry = time() + $seconds;
        $previous = $redis->getSet('lock.foo', $expiry);
        show("GETSET lock.foo $expiry", $previous === false ? null : $previous);
        $ok = $previous === $found;
    }
}
if ($ok) {
    work();
    show('DEL lock.foo', $redis->del('lock.foo'));
}
