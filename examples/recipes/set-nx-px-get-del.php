<?php
// The value is a token of this program, and DEL is sent only
// if GET finds the token. The lease can still end between GET
// and DEL.
require __DIR__ . '/common.php'; // connects $redis

$token = bin2hex(random_bytes(16));
$ms = $seconds * 1000;
$ok = $redis->set('lock', $token, ['nx', 'px' => $ms]);
show("SET lock $token PX $ms NX", $ok ? 'OK' : null);
if ($ok) {
    work();
    $found = $redis->get('lock');
    show('GET lock', $found === false ? null : $found);
    if ($found === $token) {
        show('DEL lock', $redis->del('lock'));
    }
}
