// Attacks that no server withstands. They prove that the suite sees a crash, a stall and foreign bytes.

export const CONTROLS = [
  {
    name: 'control-kill',
    family: 'control',
    what: 'Kills the server.',
    async run(context) {
      context.signal('SIGKILL');
      await context.endWithin(2000);
    },
  },
  {
    name: 'control-stop',
    family: 'control',
    what: 'Stops the server for 1.5 s.',
    async run(context) {
      context.signal('SIGSTOP');
      await context.pause(1500);
      context.signal('SIGCONT');
    },
  },
  {
    name: 'control-foreign-bytes',
    family: 'control',
    what: "Publishes to the innocent client's own channel.",
    async run(context) {
      const client = await context.client();
      const [channel] = (await client.call('PUBSUB', 'CHANNELS')).match(/innocent:\w+/);
      await client.call('PUBLISH', channel, 'of another client');
      await context.pause(200);
    },
  },
  {
    name: 'control-kill-innocent',
    family: 'control',
    what: 'Closes all other clients.',
    async run(context) {
      const client = await context.client();
      await client.call('CLIENT', 'KILL', 'TYPE', 'normal');
    },
  },
];
