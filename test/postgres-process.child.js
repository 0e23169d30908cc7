// A program that takes locks in PostgreSQL with the built package. It adds 1 to a counter under the lock, again and
// again, in transactions that are guarded by the fence, until its parent disconnects or kills it.
import pg from 'pg';

const { createLocks } = await import(process.env.HOLDFAST_BUILD);
const { fenced, postgresStore } = await import(process.env.HOLDFAST_STORES);
const { POSTGRES_URL, LISTEN_URL } = process.env;
const pool = new pg.Pool({ connectionString: POSTGRES_URL, connectionTimeoutMillis: 2000 });
pool.on('error', () => {});
// A connection that ends while it is used reports it twice: by this event, and by the query.
pool.on('connect', (client) => client.on('error', () => {}));
const store = postgresStore(pool, { listen: LISTEN_URL, requestTimeout: 500 });
const locks = createLocks({ store });
/** Whether the parent wants the locks to be held for long, so that they outlive a kill. */
let isSlow = false;

process.on('message', (message) => {
  isSlow = message === 'slow';
});
process.on('disconnect', () => process.exit());
process.send({ type: 'ready' });

for (;;) {
  try {
    await locks.mutex('counter').run(
      async (lease) => {
        await addOne(lease);
        process.send({ type: 'added', fence: lease.fence });
        if (isSlow) await new Promise((resolve) => setTimeout(resolve, 60_000));
      },
      { lease: '2s', wait: '20s' },
    );
  } catch (error) {
    process.send({ type: 'failed', code: error.code ?? error.message });
  }
}

async function addOne(lease) {
  const client = await pool.connect();
  let failure;
  try {
    await client.query('begin');
    await fenced(client, lease);
    const { rows } = await client.query('select value from counter');
    await client.query('update counter set value = $1, fence = $2', [
      rows[0].value + 1,
      lease.fence,
    ]);
    await client.query('insert into additions values ($1)', [lease.fence]);
    await client.query('commit');
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    client.release(failure);
  }
}
