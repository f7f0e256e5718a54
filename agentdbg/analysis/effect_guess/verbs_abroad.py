"""
Verbs in the names of tools that are not in English: `cancelar_cita`, `kunde_suchen`, `annuler_commande`.

Only verbs that mean the same wherever they stand, in the forms that names have; one that writes beside one that reads
makes a write of the name, and where English has said something already, nobody asks here.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

__all__ = ["effect_abroad"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_READS = _words("""
    abfragen abrufen anzeigen auflisten auslesen berechnen ermitteln finden holen lesen nachschlagen pruefen
    prufen suche suchen buscar busca calcular comprobar consultar consulta encontrar leer listar mostrar obtener
    obten verificar ler obter procurar afficher calculer chercher consulter lire lister obtenir rechercher
    trouver verifier calcolare cercare cerca elencare leggere ottenere trovare verificare bekijken ophalen
    zoeken
""")
_WRITES = _words("""
    abbestellen aendern aktivieren andern aktualisieren anlegen beantragen bestellen bezahlen buchen
    deaktivieren eintragen entfernen ersetzen erstatten erstellen freischalten hinzufuegen hinzufugen hochladen
    kuendigen kundigen loschen loeschen reservieren senden speichern sperren stornieren ueberweisen uberweisen
    umbuchen verschicken verschieben versenden zuweisen activar actualizar agendar agregar anadir anular asignar
    bloquear borrar cambiar cancelar cerrar comprar crear desactivar devolver eliminar enviar guardar modificar
    pagar programar publicar reembolsar registrar reprogramar reservar solicitar transferir adicionar alterar
    apagar atualizar criar deletar excluir fechar remover salvar acheter activer ajouter annuler changer
    commander creer desactiver enregistrer envoyer fermer modifier payer planifier publier rembourser reserver
    resilier supprimer transferer virer acquistare aggiornare aggiungere annullare cancellare creare eliminare
    inviare modificare pagare prenotare rimborsare salvare spostare aanmaken annuleren betalen boeken opslaan
    toevoegen verwijderen versturen wijzigen
""")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def effect_abroad(name: str) -> Literal["read", "write"] | None:
    """What the verbs of a name say that are in none of the English tables; None where there is none."""
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", name) if not unicodedata.combining(sign))
    words = {word.lower() for word in _WORD.findall(plain)}
    if not _WRITES.isdisjoint(words):
        return "write"
    return None if _READS.isdisjoint(words) else "read"
