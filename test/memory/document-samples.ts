/** Documents for tests, made here byte by byte: PDF from its objects, Word files with a ZIP writer, notebooks as JSON. */
import { deflateSync } from 'node:zlib';
import { ZipFile } from 'yazl';

export interface PdfOptions {
  /** Font object in place of Helvetica. */
  readonly font?: string;
  /** Further entries of the trailer, e.g. `/Encrypt 9 0 R /ID [<00><00>]`. */
  readonly trailer?: string;
  /** Further objects, from number 4 + 2·pages on. */
  readonly objects?: readonly string[];
}

/** One line of text a string, 14 points apart; a line of '' leaves a gap. `undefined` instead of a page: one without text. */
export function pdf(pages: readonly (readonly string[] | undefined)[], options: PdfOptions = {}): Buffer {
  const shows = pages.map(lines => (lines ?? []).map(line => (line === '' ? 'T*' : `(${escaped(line)}) Tj T*`)));
  return pdfOf(
    shows.map(show => Buffer.from(`BT /F1 12 Tf 14 TL 72 720 Td\n${show.join('\n')}\nET`, 'latin1')),
    options,
  );
}

/** A PDF of pages with these contents, compressed. */
export function pdfOf(contents: readonly Uint8Array[], options: PdfOptions = {}): Buffer {
  const count = contents.length;
  const kids = contents.map((_, at) => `${4 + 2 * at} 0 R`).join(' ');
  const objects: Buffer[] = [
    Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'),
    Buffer.from(`<< /Type /Pages /Kids [${kids}] /Count ${count} >>`),
    Buffer.from(options.font ?? '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>'),
  ];
  contents.forEach((content, at) => {
    const stream = deflateSync(content);
    objects.push(
      Buffer.from(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * at} 0 R >>`,
      ),
      Buffer.concat([
        Buffer.from(`<< /Length ${stream.length} /Filter /FlateDecode >>\nstream\n`),
        stream,
        Buffer.from('\nendstream'),
      ]),
    );
  });
  for (const object of options.objects ?? []) objects.push(Buffer.from(object, 'latin1'));
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n')];
  let length = parts[0]!.length;
  const offsets = objects.map((object, at) => {
    const offset = length;
    const part = Buffer.concat([Buffer.from(`${at + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')]);
    parts.push(part);
    length += part.length;
    return offset;
  });
  const rows = offsets.map(offset => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const size = objects.length + 1;
  parts.push(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${size} /Root 1 0 R ${options.trailer ?? ''} >>\nstartxref\n${length}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(parts);
}

function escaped(text: string): string {
  return text.replace(/[\\()]/g, sign => `\\${sign}`);
}

const WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';

/** A Word file with this body (`w:p`, `w:tbl`), and further parts by name. */
export function docx(body: string, parts: Readonly<Record<string, string | Buffer>> = {}): Promise<Buffer> {
  return zip({
    '[Content_Types].xml':
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/></Types>',
    '_rels/.rels':
      '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
    'word/document.xml': `<?xml version="1.0" encoding="UTF-8"?><w:document ${WORD}><w:body>${body}</w:body></w:document>`,
    'word/styles.xml': `<w:styles ${WORD}>${[1, 2].map(level => `<w:style w:type="paragraph" w:styleId="berschrift${level}"><w:name w:val="heading ${level}"/></w:style>`).join('')}</w:styles>`,
    ...parts,
  });
}

/** A paragraph of one run; `style` and `properties` as in `w:pPr`. */
export function paragraph(text: string, properties = ''): string {
  const safe = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${safe}</w:t></w:r></w:p>`;
}

export function heading(text: string, level: 1 | 2): string {
  return paragraph(text, `<w:pStyle w:val="berschrift${level}"/>`);
}

export async function zip(entries: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  const file = new ZipFile();
  for (const [name, content] of Object.entries(entries)) file.addBuffer(Buffer.from(content), name);
  file.end();
  const parts: Buffer[] = [];
  for await (const part of file.outputStream) parts.push(Buffer.from(part as Uint8Array));
  return Buffer.concat(parts);
}

export interface Cell {
  readonly kind: 'markdown' | 'code' | 'raw';
  readonly source: string | readonly string[];
  readonly outputs?: readonly unknown[];
}

export function notebook(cells: readonly Cell[]): Buffer {
  return Buffer.from(
    JSON.stringify(
      {
        cells: cells.map(({ kind, source, outputs }) => ({
          cell_type: kind,
          metadata: {},
          source,
          ...(kind === 'code' ? { execution_count: null, outputs: outputs ?? [] } : {}),
        })),
        metadata: { language_info: { name: 'python' } },
        nbformat: 4,
        nbformat_minor: 5,
      },
      undefined,
      1,
    ),
  );
}
