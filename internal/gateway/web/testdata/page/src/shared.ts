export function show(id: string, text: string): void {
  const line = document.createElement("p");
  line.id = id;
  line.textContent = text;
  document.body.append(line);
}
