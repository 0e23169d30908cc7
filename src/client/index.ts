export { type Address, AddressError, parseAddress } from './address.ts';
export { Client, type ClientOptions } from './client.ts';
export { Connection, ConnectionError, openConnection, type Receiver } from './connection.ts';
