// `npm run ask -- DIR "question"`: whatever set-up is missing, model included, then the answer. Starting it is the consent
// to the downloads that it announces.
process.argv.splice(2, 0, 'ask', '--yes');
await import('./longview.mjs');
