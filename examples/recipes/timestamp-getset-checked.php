<?php
// As timestamp-getset, but a program that worked for longer
// than its lease sends no DEL. It can still be paused between
// the look at its clock and DEL.
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
    if (time() < $expiry) {
        show('DEL lock.foo', $redis->del('lock.foo'));
    }
}
