/** pdf.js ships no types for its worker; importing it puts it where pdf.js looks for it. */
declare module 'pdfjs-dist/legacy/build/pdf.worker.mjs';
