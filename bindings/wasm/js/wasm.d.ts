/** What a bundler makes of a file of WebAssembly: its address or its bytes, for `init`. */
declare const wasm: string | Uint8Array<ArrayBuffer>;
export default wasm;
