/**
 * From a place in a document to the server's answer about the name there. Asks nothing in a folder that is not trusted, and
 * not again for a while where nothing has been read. Does no work of its own on the text beyond the line.
 */
import * as vscode from 'vscode';
import { method, type DefinitionCandidate, type RecallAtReply } from '../protocol/index.js';
import { nameAt, type NameInLine } from './names-in-line.js';
import type { ServerClient } from './server-client.js';

/** Files of all languages, in folders on a disk, and cells of notebooks. */
export const documentSelector: vscode.DocumentSelector = [{ scheme: 'file' }, { notebookType: '*' }];

const textBefore = 4000;
const linesBefore = 200;
/** After an answer that nothing was read, this long nothing is asked about the folder. */
const quietMs = 20_000;

export interface NamedPlace {
  readonly folder: vscode.WorkspaceFolder;
  /** Of the file, a cell's notebook, relative to the folder. */
  readonly path: string;
  readonly name: string;
  readonly range: vscode.Range;
}

export class DefinitionRequests {
  private readonly quietUntil = new Map<string, number>();

  constructor(private readonly client: ServerClient) {}

  /** The name at a position, if it is one to look up. */
  nameAt(document: vscode.TextDocument, position: vscode.Position): NamedPlace | undefined {
    const found = nameAt(document.lineAt(position.line).text, position.character, document.languageId);
    return found && this.placeOf(document, position.line, found);
  }

  placeOf(document: vscode.TextDocument, line: number, name: NameInLine): NamedPlace | undefined {
    const file = fileOf(document);
    const folder = file && vscode.workspace.getWorkspaceFolder(file);
    if (!vscode.workspace.isTrusted || folder?.uri.scheme !== 'file') return undefined;
    return {
      folder,
      path: vscode.workspace.asRelativePath(file!, false),
      name: name.name,
      range: new vscode.Range(line, name.start, line, name.end),
    };
  }

  /** Undefined where the folder is not asked about. */
  async ask(
    document: vscode.TextDocument,
    { folder, path, name, range }: NamedPlace,
    token: vscode.CancellationToken,
    { evenIfQuiet = false } = {},
  ): Promise<RecallAtReply | undefined> {
    const key = folder.uri.toString();
    if (!evenIfQuiet && Date.now() < (this.quietUntil.get(key) ?? 0)) return undefined;
    const start = new vscode.Position(Math.max(0, range.start.line - linesBefore), 0);
    const params = {
      folder: key,
      path,
      identifier: name,
      line: range.start.line + 1,
      column: range.start.character + 1,
      before: document.getText(new vscode.Range(start, range.end)).slice(-textBefore),
      languageId: document.languageId,
    };
    const reply = await this.client.request(method.recallAt, params, token);
    if (reply.filesRead === 0) this.quietUntil.set(key, Date.now() + quietMs);
    else this.quietUntil.delete(key);
    return reply;
  }
}

/** The file on the disk: a cell's is its notebook. */
function fileOf(document: vscode.TextDocument): vscode.Uri | undefined {
  if (document.uri.scheme === 'file') return document.uri;
  const { notebookDocuments } = vscode.workspace;
  return notebookDocuments.find(one => one.getCells().some(cell => cell.document === document))?.uri;
}

export function locationOf(folder: vscode.WorkspaceFolder, { path, startLine }: DefinitionCandidate): vscode.Location {
  return new vscode.Location(vscode.Uri.joinPath(folder.uri, path), new vscode.Position(startLine - 1, 0));
}
