/** Imported before onnxruntime-node by ort.ts: it reads this when it loads. */
process.env['ORT_DISABLE_TELEMETRY'] = '1';
