// Runs a WebAssembly program that imports nothing; a panic in it is a trap, which ends in exit code 1.
import { readFile } from "node:fs/promises";

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]), {});
const code = instance.exports.main(0, 0);
if (code !== 0) process.exit(code);
