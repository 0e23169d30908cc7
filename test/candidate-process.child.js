// A candidate for leadership, as a user would write it, on the package as it was built. It reports its terms to its
// parent (see candidate-process.ts), and stops when the parent says so.
const { createLocks } = await import(process.env.HOLDFAST_BUILD);
const { url, options, session } = JSON.parse(process.env.HOLDFAST_CANDIDATE);

const locks = createLocks(url, { session });
const lead = async ({ signal, fence }) => {
  process.send({ event: 'leads', fence });
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  process.send({ event: 'ends', code: signal.reason.code });
};
const election = locks.elect('job', lead, options);

process.on('message', async () => {
  await election.stop();
  await locks.close();
  process.disconnect();
});
// The parent may end without a message.
process.on('disconnect', () => process.exit());
