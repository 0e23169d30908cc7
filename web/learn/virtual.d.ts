declare module 'virtual:catalog' {
  const catalog: import('./catalog-types.ts').Catalog;
  export default catalog;
}
declare module 'virtual:claims' {
  const claims: readonly import('../../src/lab/report/claims/claim.ts').Claim[];
  export default claims;
}
declare module 'virtual:tutorial' {
  const tutorial: Readonly<
    Record<'en' | 'zh', import('./tutorial/tutorial-types.ts').RenderedTutorial>
  >;
  export default tutorial;
}
/** True in the site, where the docs are beside the page. */
declare const __SITE__: boolean;
declare module 'virtual:run.css';
declare module '*.css';
