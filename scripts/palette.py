"""Make pictures of pages small: 256 of their colours in a palette PNG.

The most frequent ones are kept, and among them rather a vivid one than another shade of grey: the
red of a small icon says more than how a letter is smoothed. The browser that took the picture
counts and compresses, so that no image library is needed.
"""

import base64
import struct
import zlib

from playwright.sync_api import Page

_QUANTISE = """async (source) => {
  const bytes = Uint8Array.from(atob(source), (c) => c.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], {type: "image/png"}));
  const {width, height} = image;
  const context = new OffscreenCanvas(width, height).getContext("2d");
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const weight = ([pixel, count]) => {
    const parts = [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
    const chroma = Math.max(...parts) - Math.min(...parts);
    return count * (1 + (chroma * chroma) / 64);
  };
  const ranked = [...counts].map((one) => [one[0], weight(one)]).sort((a, b) => b[1] - a[1]);
  const colours = ranked.slice(0, 256).map(([colour]) => colour);
  const index = new Map(colours.map((colour, place) => [colour, place]));
  const near = (pixel) => {
    let best = 0, least = Infinity;
    for (let place = 0; place < colours.length; place += 1) {
      const other = colours[place];
      const r = (pixel & 255) - (other & 255);
      const g = ((pixel >> 8) & 255) - ((other >> 8) & 255);
      const b = ((pixel >> 16) & 255) - ((other >> 16) & 255);
      const distance = 2 * r * r + 4 * g * g + 3 * b * b;
      if (distance < least) [best, least] = [place, distance];
    }
    index.set(pixel, best);
    return best;
  };
  const rows = new Uint8Array((width + 1) * height);
  for (let y = 0, from = 0, to = 0; y < height; y += 1) {
    rows[to++] = 0;
    for (let x = 0; x < width; x += 1, from += 1) {
      rows[to++] = index.get(pixels[from]) ?? near(pixels[from]);
    }
  }
  let text = "";
  for (let at = 0; at < rows.length; at += 32768) {
    text += String.fromCharCode(...rows.subarray(at, at + 32768));
  }
  const palette = colours.flatMap((c) => [c & 255, (c >> 8) & 255, (c >> 16) & 255]);
  return [width, height, palette, btoa(text)];
}"""


def shrink(picture: bytes, page: Page) -> bytes:
    """The PNG ``picture`` with a palette; ``page`` is any page, it only lends its engine."""
    width, height, palette, rows = page.evaluate(
        _QUANTISE, base64.b64encode(picture).decode("ascii")
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", bytes(palette)),
        (b"IDAT", zlib.compress(base64.b64decode(rows), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
