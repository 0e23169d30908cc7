<?php
// What the PHP programs share. Including it connects $redis to the server that the arguments name:
//   php <program>.php [host [port [seconds]]]        seconds: how long the lease lasts
// show() prints a command and its reply; work() is the work that the lock protects.

set_exception_handler(fn (Throwable $error) => stop($error->getMessage()));
set_error_handler(fn (int $level, string $message) => stop($message));

if (!extension_loaded('redis')) {
    fwrite(STDERR, "PHP has no extension redis (phpredis). Debian, Ubuntu: sudo apt-get install php-redis."
        . " Elsewhere: pecl install redis, and extension=redis in php.ini\n");
    exit(1);
}
[$host, $port, $seconds] = array_slice($argv, 1) + ['127.0.0.1', '6379', '2'];
foreach (['port' => $port, 'seconds' => $seconds] as $name => $text) {
    if (!preg_match('/^\d{1,5}$/D', $text)) {
        stop("$name must be a whole number up to 99999, not '$text'");
    }
}
$redis = new Redis();
try {
    $redis->connect($host, (int) $port, 5);
} catch (RedisException $error) {
    stop("no server answers at $host:$port: {$error->getMessage()}");
}

function show(string $command, string|int|null $reply): void
{
    global $redis;
    // phpredis returns false for a refused command, and keeps the error for later.
    if ($redis->getLastError() !== null) {
        stop("$command: {$redis->getLastError()}");
    }
    echo "$command -> ", $reply ?? 'nil', "\n";
}

function work(): void
{
    echo "working until Enter\n";
    fgets(STDIN);
}

function stop(string $problem): never
{
    global $argv;
    fwrite(STDERR, "$problem\nusage: php $argv[0] [host [port [seconds]]]\n");
    exit(1);
}
