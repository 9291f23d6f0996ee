/**
 * The page of a webview: an empty body, one style sheet and one script of the bundle, and a policy that lets nothing else
 * in: no network, no inline script or style, no frames, no images. Knows nothing of the editor.
 */
export interface PanelPage {
  readonly title: string;
  /** Language of the words, e.g. `en`. */
  readonly language: string;
  /** The webview's own origin, `webview.cspSource`. */
  readonly source: string;
  readonly style: string;
  readonly script: string;
  /** Made anew for each page. */
  readonly nonce: string;
}

export function panelHtml({ title, language, source, style, script, nonce }: PanelPage): string {
  const policy = [
    "default-src 'none'",
    `style-src ${source}`,
    `script-src 'nonce-${nonce}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!DOCTYPE html>
<html lang="${escaped(language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="${escaped(style)}">
</head>
<body>
<script nonce="${escaped(nonce)}" src="${escaped(script)}"></script>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, sign => `&#${sign.charCodeAt(0)};`);
}
