<?php
// A script runs EXPIRE only if its SETNX gave 1. DEL asks
// nothing: a program that worked for longer than its lease
// deletes the lock of the next one.
require __DIR__ . '/common.php'; // connects $redis

$script = file_get_contents(__DIR__ . '/lua-setnx-expire.lua');
$ok = $redis->eval($script, ['lock', '1', $seconds], 1);
show("EVAL <setnx and expire> 1 lock 1 $seconds", $ok);
if ($ok) {
    work();
    show('DEL lock', $redis->del('lock'));
}
