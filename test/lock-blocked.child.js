// Waits for a lock, and blocks its event loop as soon as it has it.
const { createLocks } = await import(process.env.HOLDFAST_BUILD_URL);

const locks = createLocks(process.argv[2]);
const acquired = locks.mutex('a').acquire({ wait: '60s', lease: '30s' });
await acquired;
const endMs = Date.now() + 3000;
while (Date.now() < endMs);
process.send('unblocked');
await locks.close();
process.disconnect();
