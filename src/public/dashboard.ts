/** `holdfast/dashboard`: the page that shows locks, for the HTTP server of a program. */
export { type Dashboard, type DashboardOptions, dashboard } from '../page/index.ts';
