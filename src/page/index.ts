export { type Dashboard, type DashboardOptions, dashboard } from './dashboard.ts';
export { type PageServer, type PageServerOptions, startPageServer } from './page-server.ts';
export { type PageHistory, type PageSource, serverSource, storeSource } from './page-source.ts';
