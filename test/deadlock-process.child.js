// A program that takes locks inside each other with the built package, as a user would write it. It executes the tasks of
// its parent (see deadlock-processes.test.ts).
import { setTimeout as pause } from 'node:timers/promises';

const { createLocks } = await import(process.env.HOLDFAST_BUILD);
const locks = createLocks(process.env.HOLDFAST_STORE);

const KINDS = {
  mutex: ({ name }) => locks.mutex(name),
  semaphore: ({ name, slots, permits = 1 }) => locks.semaphore(name, slots, { permits }),
  read: ({ name }) => locks.readWrite(name).read,
  write: ({ name }) => locks.readWrite(name).write,
  all: ({ names }) => locks.all(names),
};

/** Gates of tasks that hold their first lock, by id. */
const gates = new Map();

/** Takes the locks inside each other. With a gate, it waits for the parent between the first and the second. */
async function nest({ id, steps, hasGate, pauseMs = 0, wait }, depth = 0) {
  if (depth === steps.length) return;
  const { kind, ...step } = steps[depth];
  const inside = async () => {
    if (depth === 0 && hasGate) {
      const opened = new Promise((resolve) => gates.set(id, resolve));
      process.send({ id, event: 'held' });
      await opened;
    } else await pause(pauseMs);
    await nest({ id, steps, hasGate, pauseMs, wait }, depth + 1);
  };
  await KINDS[kind](step).run(inside, { wait, lease: '3s' });
}

process.on('message', async (task) => {
  if (task.opens) {
    gates.get(task.id)();
    return;
  }
  try {
    await nest(task);
    process.send({ id: task.id, event: 'ended', result: 'done' });
  } catch (error) {
    process.send({ id: task.id, event: 'ended', result: error.code, message: error.message });
  }
});
process.send({ event: 'ready', id: 0 });
